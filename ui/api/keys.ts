/** Keys of the queries that several features share or invalidate. `all` and `lists` cover every key that begins with them. */

const documents = ["documents"] as const;
const documentLists = ["documents", "list"] as const;
export const documentKeys = {
  all: documents,
  lists: documentLists,
  list: (...page: unknown[]) => [...documentLists, ...page] as const,
  counts: ["documents", "counts"] as const,
  names: (nameSearch: string, limit: number) => ["documents", "names", nameSearch, limit] as const,
  one: (documentId: string) => ["documents", "one", documentId] as const,
  parts: (documentId: string, ...page: number[]) => ["documents", "parts", documentId, ...page] as const,
  log: (documentId: string, ...page: number[]) => ["documents", "log", documentId, ...page] as const,
  text: (documentId: string, ...page: number[]) => ["documents", "text", documentId, ...page] as const,
  boxes: (documentId: string, sha256: string, start: number, end: number) =>
    ["documents", "boxes", documentId, sha256, start, end] as const,
  /** Apart from the others: a change of tags or metadata reads no file again. */
  tables: (documentId: string, sha256: string, state: string) => ["document-tables", documentId, sha256, state] as const,
  tableAnswer: (tableId: string, sha256: string, sql: string) => ["table-answer", tableId, sha256, sql] as const,
  original: (documentId: string, sha256: string) => ["documents", "original", documentId, sha256] as const,
};

const kbLists = ["kbs", "list"] as const;
export const kbKeys = {
  all: ["kbs"] as const,
  lists: kbLists,
  list: (nameSearch: string, limit: number, skip: number) => [...kbLists, nameSearch, limit, skip] as const,
  one: (kbId: string) => ["kbs", "one", kbId] as const,
  documents: (kbId: string, ...page: number[]) => ["kbs", "documents", kbId, ...page] as const,
  chunks: (kbId: string, documentId: string | null, page: number) => ["kbs", "chunks", kbId, documentId, page] as const,
  forecast: (body: object) => ["kbs", "forecast", body] as const,
  preview: (body: object) => ["kbs", "preview", body] as const,
};

export const tagKeys = {
  all: ["tags"] as const,
  list: (nameSearch: string, limit: number) => ["tags", "list", nameSearch, limit] as const,
  page: (nameSearch: string, skip: number) => ["tags", "page", nameSearch, skip] as const,
  index: ["tags", "index"] as const,
};

export const jobKeys = {
  all: ["jobs"] as const,
  page: (filter: object, skip: number, limit: number) => ["jobs", "page", filter, skip, limit] as const,
  one: (jobId: string) => ["jobs", "one", jobId] as const,
  counts: ["jobs", "counts"] as const,
  errors: (kinds: readonly string[], kbId: string | null) => ["jobs", "errors", kinds, kbId] as const,
  deadCount: ["jobs", "dead-count"] as const,
  extracting: ["jobs", "extracting"] as const,
  ofKb: (kbId: string, state: string) => ["jobs", "of-kb", kbId, state] as const,
  ofRuns: ["jobs", "of-runs"] as const,
};

const sourceLists = ["sources", "list"] as const;
export const sourceKeys = {
  all: ["sources"] as const,
  lists: sourceLists,
  kinds: ["source-kinds"] as const,
  list: (nameSearch: string, skip: number, limit: number) => [...sourceLists, nameSearch, skip, limit] as const,
  one: (sourceId: string) => ["sources", "one", sourceId] as const,
  /** Apart from the others: no change of a source connects to it again. */
  test: (sourceId: string, changedAt: string) => ["source-test", sourceId, changedAt] as const,
  items: (sourceId: string, filter: object, skip: number) => ["sources", "items", sourceId, filter, skip] as const,
  inbound: (sourceId: string) => ["source-inbound", sourceId] as const,
  runs: (sourceId: string, skip: number) => ["sources", "runs", sourceId, skip] as const,
  run: (runId: string) => ["sources", "run", runId] as const,
  outcomes: (runId: string, outcome: string | null, skip: number, counted: number) =>
    ["sources", "outcomes", runId, outcome, skip, counted] as const,
};

const promptLists = ["prompts", "list"] as const;
export const promptKeys = {
  all: ["prompts"] as const,
  lists: promptLists,
  list: (nameSearch: string, skip: number, limit: number) => [...promptLists, nameSearch, skip, limit] as const,
  one: (promptId: string) => ["prompts", "one", promptId] as const,
  versions: (promptId: string) => ["prompts", "versions", promptId] as const,
  using: (subject: object) => ["prompts", "using", subject] as const,
};

export const modelKeys = {
  all: ["models"] as const,
  embedding: ["models", "embedding"] as const,
  chat: ["models", "of-chat"] as const,
  chatNamed: (nameSearch: string) => ["models", "chat", nameSearch] as const,
  ofProvider: (provider: string) => ["models", "provider", provider] as const,
};

export const providerKeys = { all: ["providers"] as const };

export const organizationKeys = {
  one: ["organization"] as const,
  retention: ["retention"] as const,
  settings: ["organization-settings"] as const,
  storage: ["storage"] as const,
  quota: ["quota"] as const,
};

export const memberKeys = {
  all: ["members"] as const,
  page: (skip: number) => ["members", skip] as const,
  names: ["members", "names"] as const,
};

export const reconcileKeys = {
  all: ["reconcile"] as const,
  report: (runId: string) => ["reconcile", "report", runId] as const,
  runs: (skip: number) => ["reconcile", "runs", "all", skip] as const,
  runsOfKb: (kbId: string) => ["reconcile", "runs", kbId] as const,
};

export const usageKeys = {
  days: (count: number, by: string) => ["usage", "days", count, by] as const,
  byKb: ["usage", "by-kb", 30] as const,
};
