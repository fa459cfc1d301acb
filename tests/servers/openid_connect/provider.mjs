// A provider of OpenID Connect for tests, as its one argument says, whose accounts need no password.
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const said = JSON.parse(process.argv[2]);

function key(kty, use) {
  const pair = kty === "RSA" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...pair.privateKey.export({ format: "jwk" }), use, kid: `${kty}-${Date.now()}` };
}

const provider = new Provider(said.issuer, {
  clients: [
    {
      client_id: said.clientId,
      client_secret: said.clientSecret,
      redirect_uris: [said.redirectUri],
      token_endpoint_auth_method: said.authMethod,
      id_token_signed_response_alg: said.algorithm,
    },
  ],
  clientAuthMethods: [said.authMethod],
  jwks: { keys: [key("RSA", "sig"), key("EC", "sig")] },
  cookies: { keys: ["a test's"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  conformIdTokenClaims: said.claimsOutsideTheIdToken,
  pkce: { required: () => true },
  ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: !id.startsWith("unverified") }),
  }),
});
const server = provider.listen(new URL(said.issuer).port, "127.0.0.1", () => console.log("listening"));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
