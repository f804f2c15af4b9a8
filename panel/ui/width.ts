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

/** Returns true while the window is as narrow as a phone's. The stylesheets say the same width. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useLayoutEffect(() => {
    const change = () => setNarrow(NARROW.matches);
    NARROW.addEventListener('change', change);
    return () => NARROW.removeEventListener('change', change);
  }, []);
  return narrow;
}
