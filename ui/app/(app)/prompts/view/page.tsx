import type { Metadata } from "next";
import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { PromptView } from "@/features/prompts/prompt-view";

export const metadata: Metadata = { title: "Prompt" };

export default function PromptViewPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <PromptView />
    </Suspense>
  );
}
