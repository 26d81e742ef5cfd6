import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { NewKnowledgeBase } from "@/features/knowledge-bases/new-knowledge-base";

export default function NewKnowledgeBasePage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <NewKnowledgeBase />
    </Suspense>
  );
}
