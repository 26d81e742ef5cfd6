import type { Metadata } from "next";
import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { RunView } from "@/features/prompts/run-view";

export const metadata: Metadata = { title: "Run" };

export default function RunPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <RunView />
    </Suspense>
  );
}
