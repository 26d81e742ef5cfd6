import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { KnowledgeBaseView } from "@/features/knowledge-bases/knowledge-base-view";

export default function KnowledgeBaseViewPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <KnowledgeBaseView />
    </Suspense>
  );
}
