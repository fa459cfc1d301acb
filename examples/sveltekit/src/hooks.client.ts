import { invalidateAll } from "$app/navigation";

// In development, what is shown is asked for again when the content has changed; the page itself stays.
import.meta.hot?.on("content", () => void invalidateAll());
