/** An answer of the API that is not what was asked for; `detail` is a sentence for a person. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: readonly { field: string; reason: string }[];
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, body: unknown, headers: Headers | null) {
    const problem = (typeof body === "object" && body !== null ? body : {}) as Partial<{
      code: string;
      detail: string;
      errors: { field: string; reason: string }[] | null;
      request_id: string | null;
    }>;
    super(sentence(problem.detail ?? `The server answered ${status}.`));
    this.name = "ApiError";
    this.status = status;
    this.code = problem.code ?? "http_error";
    this.fields = problem.errors ?? [];
    this.requestId = problem.request_id ?? headers?.get("x-request-id") ?? null;
    const retry = Number(headers?.get("retry-after"));
    this.retryAfterSeconds = Number.isFinite(retry) && retry > 0 ? retry : null;
  }
}

/** The API's details begin small and end without a stop, as what follows a title there. */
export function sentence(detail: string): string {
  const [first = ""] = detail;
  return `${first.toUpperCase()}${detail.slice(first.length)}${/[.!?…]$/.test(detail) ? "" : "."}`;
}

/** The API could not be reached at all. */
export class NetworkError extends Error {
  constructor() {
    super("The server does not answer. It may be restarting, or the network is down.");
    this.name = "NetworkError";
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
