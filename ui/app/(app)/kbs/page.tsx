import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { KnowledgeBases } from "@/features/knowledge-bases/knowledge-bases";

export default function KnowledgeBasesPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <KnowledgeBases />
    </Suspense>
  );
}
