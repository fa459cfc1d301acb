// For `next dev` beside `cms dev`: whatever was made before a request is too old for it, so that a page always shows the
// last save. See next.config.ts.
export default {
  get: async () => undefined,
  set: async (_key, entry) => void (await entry),
  refreshTags: async () => {},
  updateTags: async () => {},
  getExpiration: async () => Date.now(),
};
