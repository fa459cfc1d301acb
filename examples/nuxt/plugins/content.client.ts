// In development, what is shown is asked for again when the content has changed; the page itself stays.
export default defineNuxtPlugin(() => {
  const error = useError();
  import.meta.hot?.on("content", () => (error.value ? location.reload() : refreshNuxtData()));
});
