import { createParser, parseAsArrayOf, parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";

import { type DocumentSort, type FileType, TAG_OPERATORS } from "./queries";

const STATES = ["uploaded", "extracting", "extracted", "failed"] as const;
const TYPES = [
  "pdf",
  "word",
  "spreadsheet",
  "presentation",
  "text",
  "web",
  "email",
  "ebook",
  "archive",
  "image",
  "other",
] as const satisfies readonly FileType[];
const SORTS = [
  "-created_at",
  "created_at",
  "-updated_at",
  "updated_at",
  "document_name",
  "-document_name",
  "byte_size",
  "-byte_size",
  "state",
  "-state",
] as const satisfies readonly DocumentSort[];
const SIZES = [25, 50, 100] as const;

const parseAsDay = createParser({
  parse: (text) => (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null),
  serialize: (day: string) => day,
});

/** The list as the URL says; what is no valid value counts as left out. */
export function useDocumentsUrl() {
  const [url, setUrl] = useQueryStates({
    q: parseAsString.withDefault(""),
    state: parseAsArrayOf(parseAsStringLiteral(STATES)).withDefault([]),
    type: parseAsArrayOf(parseAsStringLiteral(TYPES)).withDefault([]),
    tags: parseAsArrayOf(parseAsString).withDefault([]),
    tagop: parseAsStringLiteral(TAG_OPERATORS).withDefault("all"),
    kb: parseAsString,
    error: parseAsString,
    from: parseAsDay.withDefault(""),
    to: parseAsDay.withDefault(""),
    sort: parseAsStringLiteral(SORTS).withDefault("-created_at"),
    page: parseAsInteger.withDefault(1),
    size: parseAsInteger.withDefault(50),
  });
  const size = SIZES.find((known) => known === url.size) ?? 50;
  const page = Math.min(Math.max(1, url.page), Math.floor(1_000_000 / size));
  return { url: { ...url, size, page }, setUrl };
}

export const STATE_LABELS: Record<(typeof STATES)[number], string> = {
  uploaded: "Waiting for extraction",
  extracting: "Extracting",
  extracted: "Extracted",
  failed: "Extraction failed",
};
export const STATE_CHOICES = STATES;

export const TYPE_LABELS: Record<FileType, string> = {
  pdf: "PDF",
  word: "Word document",
  spreadsheet: "Spreadsheet",
  presentation: "Presentation",
  text: "Text",
  web: "Web page",
  email: "E-mail",
  ebook: "E-book",
  archive: "Archive",
  image: "Image",
  other: "Other",
};
export const TYPE_CHOICES = TYPES;
