import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Sources } from "@/features/sources/sources";

export default function SourcesPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Sources />
    </Suspense>
  );
}
