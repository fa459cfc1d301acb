import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./house.css";

createRoot(document.body).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
