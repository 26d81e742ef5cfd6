import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  Clock3,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  OctagonX,
  TriangleAlert,
} from "lucide-react";

export type Tone = "ready" | "working" | "warning" | "waiting-for-quota" | "waiting-for-provider" | "failed" | "queued" | "absent";

const ICON: Record<Tone, LucideIcon> = {
  ready: CircleCheck,
  working: LoaderCircle,
  warning: TriangleAlert,
  "waiting-for-quota": Hourglass,
  "waiting-for-provider": Hourglass,
  failed: OctagonX,
  queued: Clock3,
  absent: CircleDashed,
};

const ICON_COLOUR: Record<Tone, string> = {
  ready: "text-ready",
  working: "text-working spin",
  warning: "text-warn",
  "waiting-for-quota": "text-warn",
  "waiting-for-provider": "text-warn",
  failed: "text-failed",
  queued: "text-idle",
  absent: "text-idle",
};

/** Ready and under way are quiet: only exceptions colour their words. */
const WORDS_COLOUR: Record<Tone, string> = {
  ready: "text-text-2",
  working: "text-text-2",
  warning: "text-warn",
  "waiting-for-quota": "text-warn",
  "waiting-for-provider": "text-warn",
  failed: "text-failed",
  queued: "text-text-2",
  absent: "text-text-2",
};

/** A state in words, with an icon of its own form: it can be read without colour. */
export function State({ tone, children, title }: { tone: Tone; children: React.ReactNode; title?: string }) {
  const Icon = ICON[tone];
  return (
    <span className={`inline-flex min-w-0 max-w-full items-center gap-1.5 align-middle ${WORDS_COLOUR[tone]}`} title={title}>
      <Icon aria-hidden size={14} strokeWidth={2.25} className={`shrink-0 ${ICON_COLOUR[tone]}`} />
      <span className="truncate">{children}</span>
    </span>
  );
}

const BANNER: Record<"warning" | "failed" | "working", string> = {
  warning: "bg-warn-bg text-warn",
  failed: "bg-failed-bg text-failed",
  working: "bg-working-bg text-working",
};

/** A sentence over the whole width that a person should not miss. */
export function Banner({ tone, children }: { tone: "warning" | "failed" | "working"; children: React.ReactNode }) {
  const Icon = tone === "warning" ? TriangleAlert : tone === "failed" ? OctagonX : CircleAlert;
  return (
    <div className={`flex items-start gap-2 rounded-lg px-3 py-2 ${BANNER[tone]}`} role={tone === "failed" ? "alert" : "status"}>
      <Icon aria-hidden size={16} className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 break-words">{children}</div>
    </div>
  );
}
