import type { Metadata } from "next";
import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { NewPrompt } from "@/features/prompts/new-prompt";

export const metadata: Metadata = { title: "New prompt" };

export default function NewPromptPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <NewPrompt />
    </Suspense>
  );
}
