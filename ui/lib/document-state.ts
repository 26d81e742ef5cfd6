/** Whether a document can be found, and why not, in words: the same everywhere that it appears. */

import type { Document, DocumentDetail } from "@/api/queries";
import type { Tone } from "@/components/state";
import { formatCount, plural } from "@/lib/format";

export interface Progress {
  done: number;
  total: number;
}

export interface DocumentState {
  tone: Tone;
  label: string;
  /** The whole sentence, where the label is its short form. */
  reason: string | null;
  /** Something is still to come by itself. */
  isLive: boolean;
  /** Extracting the text again may help. */
  canRetry: boolean;
  /** Its dead jobs may run again. */
  canReplay: boolean;
}

const FAILURE_LABEL: Record<string, string> = {
  encrypted_file: "Password needed",
  wrong_password: "Wrong password",
  unsupported_format: "Format not supported",
  corrupt_file: "File is damaged",
  parser_unavailable: "Parser not installed",
  empty_document: "File is empty",
  limit_exceeded: "Too large to extract",
  cancelled: "Cancelled",
};

/** A short form of why the extraction of a document failed. */
export function failureLabel(code: string): string {
  return FAILURE_LABEL[code] ?? "Extraction failed";
}

/** The file is encrypted, and its password is unknown or wrong. */
export function lacksPassword(document: Document): boolean {
  return document.state === "failed" && ["encrypted_file", "wrong_password"].includes(document.error?.code ?? "");
}

/** An archive was read, and some of its files are encrypted. */
export function hasLockedParts(document: Document): boolean {
  return document.state === "extracted" && document.warnings.some((warning) => warning.includes("(needs a password: "));
}

function state(tone: Tone, label: string, more: Partial<DocumentState> = {}): DocumentState {
  return { tone, label, reason: null, isLive: false, canRetry: false, canReplay: false, ...more };
}

function counted(verb: string, progress: Progress | null | undefined): string {
  return progress ? `${verb} ${formatCount(progress.done)} of ${formatCount(progress.total)}` : verb;
}

/** The state by the document alone; null where its knowledge bases decide and are not known yet. */
export function extractionState(document: Document, progress?: Progress | null): DocumentState | null {
  switch (document.state) {
    case "failed": {
      const code = document.error?.code ?? "";
      return state("failed", failureLabel(code), {
        reason: document.error?.detail ?? null,
        canRetry: true,
      });
    }
    case "uploaded":
      return state("queued", "Waiting for extraction", { isLive: true });
    case "extracting":
      return state("working", counted("Extracting", progress), { isLive: true });
    default:
      return null;
  }
}

export function documentState(document: DocumentDetail, progress?: Progress | null): DocumentState {
  return extractionState(document, progress) ?? indexingState(document);
}

function indexingState(document: DocumentDetail): DocumentState {
  const bases = document.knowledge_bases;
  const first = (name: string) => bases.find((base) => base.state === name);
  const failed = first("failed");
  if (failed) {
    return state("failed", bases.length === 1 ? "Indexing failed" : `Indexing failed in ${failed.name}`, {
      reason: failed.reason,
      canReplay: true,
    });
  }
  const quota = first("waiting_for_quota");
  if (quota) return state("waiting-for-quota", "Waiting for quota", { reason: quota.reason, isLive: true });
  const provider = first("waiting_for_provider");
  if (provider) return state("waiting-for-provider", "Waiting for the provider", { reason: provider.reason, isLive: true });
  const indexing = first("indexing");
  if (indexing) return state("working", counted("Indexing", indexing.progress), { isLive: true });
  const waiting = first("waiting");
  if (waiting) return state("queued", "Waiting to be indexed", { reason: waiting.reason, isLive: true });
  if (document.character_count === 0) {
    return state("warning", "No text found", { reason: document.warnings.join(" ") || null, canRetry: true });
  }
  if (bases.length === 0) {
    return state("absent", "Not in a knowledge base", {
      reason: "No knowledge base shares a tag with it, so no search finds it.",
    });
  }
  if (document.warnings.length > 0) {
    return state("warning", `Ready, ${plural(document.warnings.length, "warning")}`, {
      reason: document.warnings.join(" "),
    });
  }
  return state("ready", "Ready");
}

/** "2 of 3": in how many of its knowledge bases it can be found. */
export function searchableIn(document: DocumentDetail): string {
  const bases = document.knowledge_bases;
  return bases.length === 0 ? "–" : `${bases.filter((base) => base.is_searchable).length} of ${bases.length}`;
}
