import type { Metadata } from "next";
import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Prompts } from "@/features/prompts/prompts";

export const metadata: Metadata = { title: "Prompts" };

export default function PromptsPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Prompts />
    </Suspense>
  );
}
