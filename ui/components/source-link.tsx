import { ExternalLink } from "lucide-react";

/** The web address of a document's original: named by its host, opened apart, without telling where it was clicked. */
export function SourceLink({ address }: { address: string | null | undefined }) {
  const host = hostOf(address);
  if (!address || host === null) return null;
  return (
    <a
      className="inline-flex min-w-0 items-center gap-1 text-link hover:underline"
      href={address}
      title={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      <span className="truncate">{host}</span>
      <ExternalLink aria-hidden size={12} className="shrink-0" />
      <span className="sr-only">(original, opens a new tab)</span>
    </a>
  );
}

/** The host of an http or https address; null for any other text. */
export function hostOf(address: string | null | undefined): string | null {
  try {
    const url = new URL(address ?? "");
    return url.protocol === "https:" || url.protocol === "http:" ? url.host : null;
  } catch {
    return null;
  }
}
