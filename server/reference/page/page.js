// The definition of this server, shown so that requests can be tried. Nothing is sent anywhere else or kept.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  displayRequestDuration: true,
});
