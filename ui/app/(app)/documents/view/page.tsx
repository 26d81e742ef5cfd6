import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Viewer } from "@/features/documents/viewer/viewer";

export default function ViewerPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Viewer />
    </Suspense>
  );
}
