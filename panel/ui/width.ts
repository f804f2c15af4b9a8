import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** The width of an element in pixels, kept up to date; `first` until it is measured. */
export function useWidth(element: RefObject<Element | null>, first: number): number {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      const measured = Math.round(entry?.contentRect.width ?? 0);
      if (measured > 0) setWidth(measured);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

const NARROW = window.matchMedia('(max-width: 600px)');
const PRINT = window.matchMedia('print');

function useMedia(query: MediaQueryList): boolean {
  const [holds, setHolds] = useState(query.matches);
  useLayoutEffect(() => {
    const change = () => setHolds(query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return holds;
}

/** Returns true while the window is as narrow as a phone's. The stylesheets say the same width. */
export function useNarrow(): boolean {
  return useMedia(NARROW);
}

/** Returns true while the page is printed. */
export function usePrinting(): boolean {
  return useMedia(PRINT);
}
