// Rich text is in frames of its own, which are as high as what they show.
"use strict";

const shown = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const frame = target.ownerDocument.defaultView?.frameElement;
    if (frame) frame.style.height = `${target.offsetHeight}px`;
  }
});

function fit() {
  shown.disconnect();
  for (const frame of document.querySelectorAll("iframe.rich")) {
    const observe = () => {
      const root = frame.contentDocument?.documentElement;
      if (root) shown.observe(root);
    };
    frame.addEventListener("load", observe);
    observe();
  }
}

fit();
