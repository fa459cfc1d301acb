export default {
  input: "komugi.json",
  output: { path: "komugi-sdk", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
