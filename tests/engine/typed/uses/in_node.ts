import { results } from "./reads.js";

declare const process: { argv: string[] };
const [url, key, limitedKey, draftKey] = process.argv.slice(2) as [string, string, string, string];
console.log(JSON.stringify(await results(url, key, limitedKey, draftKey)));
