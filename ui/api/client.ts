import createClient, { type Middleware } from "openapi-fetch";

import { ApiError, NetworkError } from "@/api/errors";
import type { components, paths } from "@/api/schema";
import { session } from "@/state/session";

export type Schemas = components["schemas"];

const identify: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(session.headers())) request.headers.set(name, value);
    return request;
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new NetworkError();
  },
};

export const api = createClient<paths>({ baseUrl: "" });
api.use(identify);

/** The organization's part of every path. */
export function organizationPath(): { organization_id: string } {
  return { organization_id: session.organizationId() };
}

/** Of a POST that creates or charges: repeated after a lost answer, it is done once. */
export function idempotencyKey(): { "Idempotency-Key": string } {
  // Not crypto.randomUUID: browsers offer it over HTTPS and on localhost only.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { "Idempotency-Key": Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The answer's body.

Throws ApiError for anything but success; a session that is not valid any more ends. */
export async function answered<Data>(call: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await call;
  if (response.ok) {
    session.noteAnswer();
    return data as Data;
  }
  if (response.status === 401) session.end();
  throw new ApiError(response.status, error, response.headers);
}
