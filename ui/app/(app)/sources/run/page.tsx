import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { SourceRunView } from "@/features/sources/run-view";

export default function SourceRunViewPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <SourceRunView />
    </Suspense>
  );
}
