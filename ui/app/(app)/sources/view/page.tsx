import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { SourceView } from "@/features/sources/source-view";

export default function SourceViewPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <SourceView />
    </Suspense>
  );
}
