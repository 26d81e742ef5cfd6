import { useEffect, useRef, useState } from "react";

/** Whether the element has come into view, or near it. */
export function useInView<Element extends HTMLElement>(): [React.RefObject<Element | null>, boolean] {
  const element = useRef<Element>(null);
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver(
      (entries) => setInView(entries.some((entry) => entry.isIntersecting)),
      { rootMargin: "120px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, isInView];
}
