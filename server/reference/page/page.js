// The definition of this server, shown so that requests can be tried. Nothing is sent anywhere else or kept.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
colour();
dark.addEventListener("change", colour);

// Swagger UI's parts in one column, by the rules of HTML and for those who hear a page too.
const column = ({ React }) => {
  const element = React.createElement;
  const Column = ({ getComponent, specSelectors }) => {
    const part = (name) => element(getComponent(name, true));
    const status = specSelectors.loadingStatus();
    if (status === "loading") return element("p", { className: "loading" }, "Loading …");
    if (status !== "success") return element("div", { className: "swagger-ui" }, part("errors"));
    return element("div", { className: "swagger-ui" },
      element(getComponent("SvgAssets")),
      part("errors"),
      element("div", { className: "wrapper" }, part("InfoContainer")),
      element("h2", { className: "unseen" }, "Operations"),
      element("div", { className: "wrapper key" }, part("AuthorizeBtnContainer")),
      element("div", { className: "wrapper" }, part("operations")),
      element("div", { className: "wrapper" }, part("Models")));
  };
  return {
    components: { Column },
    // It stands within a button, where no link may be; the button leads to the same address.
    wrapComponents: { DeepLink: () => ({ text }) => element("span", null, text) },
    // A text that holds JSON is typed in, not uploaded.
    afterLoad() { this.fn.isFileUploadIntended = () => false; },
  };
};

const names = [
  [".close-modal", () => "Close"],
  [".examples-select-element", () => "Example"],
  [".responses-table", (part) => `${part.matches(".live-responses-table") ? "Answer" : "Answers"} of ${part.closest(".opblock").id}`],
  [".body-param__text, .opblock-section-request-body textarea", () => "Request body"],
  [".body-param-content-type select, .content-type", () => "Media type"],
  ["tr[data-param-name] :is(input, select, textarea)", (part) => part.closest("tr").dataset.paramName],
];

function name() {
  for (const [parts, named] of names) {
    for (const part of document.querySelectorAll(parts)) {
      if (!part.hasAttribute("aria-label")) part.setAttribute("aria-label", named(part));
    }
  }
  // Their own texts say it.
  for (const part of document.querySelectorAll(".auth-btn-wrapper [aria-label]")) part.removeAttribute("aria-label");
  // It follows a heading of the fourth level.
  for (const part of document.querySelectorAll(".auth-container h6")) part.setAttribute("aria-level", "5");
  // What scrolls must be reached without a mouse.
  for (const part of document.querySelectorAll("pre.microlight, pre.curl")) part.tabIndex = 0;
}
new MutationObserver(name).observe(document.querySelector("main"), { childList: true, subtree: true });

// Shows a definition in place of the one before.
const show = (definition) => SwaggerUIBundle({
  ...definition,
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [column],
  layout: "Column",
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  displayRequestDuration: true,
});
show({ url: "openapi.json" });
