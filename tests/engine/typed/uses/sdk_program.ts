// A program for microCMS's SDK as its guides have it: it compiles with the SDK and with ours alike.
import { createClient, isMicroCMSRequestError } from "./microcms-js-sdk.js";
import type {
  CustomRequestInit, GetAllContentIdsRequest, GetAllContentRequest, GetListDetailRequest, GetListRequest, GetObjectRequest,
  GetRequest, MicroCMSClient, MicroCMSContentId, MicroCMSDate, MicroCMSImage, MicroCMSListContent, MicroCMSListResponse,
  MicroCMSObjectContent, MicroCMSQueries, MicroCMSRequestError,
} from "./microcms-js-sdk.js";

type Blog = { title: string; body: string; eyecatch?: MicroCMSImage; category: MicroCMSContentId };
const settings: MicroCMSClient = { serviceDomain: "my-domain", apiKey: "key" };
export const client = createClient(settings);
export const init: CustomRequestInit = { cache: "no-store" };

export async function blogs(queries?: MicroCMSQueries): Promise<MicroCMSListResponse<Blog>> {
  const request: GetListRequest = { endpoint: "blogs", ...(queries && { queries }), customRequestInit: init };
  return client.getList<Blog>(request);
}
export async function blog(contentId: string, draftKey: string): Promise<Blog & MicroCMSListContent> {
  const request: GetListDetailRequest = { endpoint: "blogs", contentId, queries: { draftKey, depth: 2 } };
  return client.getListDetail<Blog>(request);
}
export async function about(): Promise<{ text: string } & MicroCMSObjectContent> {
  const request: GetObjectRequest = { endpoint: "about" };
  return client.getObject<{ text: string }>(request);
}
export async function every(): Promise<[(Blog & MicroCMSListContent)[], string[], Blog]> {
  const all: GetAllContentRequest = { endpoint: "blogs", queries: { filters: "createdAt[greater_than]2021", orders: "-createdAt" } };
  const ids: GetAllContentIdsRequest = { endpoint: "blogs", alternateField: "url" };
  const one: GetRequest = { endpoint: "blogs", contentId: "x" };
  return [await client.getAllContents<Blog>(all), await client.getAllContentIds(ids), await client.get<Blog>(one)];
}
export function failed(error: unknown): MicroCMSRequestError | undefined {
  return isMicroCMSRequestError(error) ? error : undefined;
}
export const since = (entry: MicroCMSDate): string | undefined => entry.revisedAt ?? entry.publishedAt;
