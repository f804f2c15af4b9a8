import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Place } from '../api/places.js';

/** The servers that the page can point at, and the one that it points at. */
export interface Places {
  readonly all: readonly Place[];
  readonly current: Place;
  choose(place: Place): void;
}

export const PlacesContext = createContext<Places | null>(null);

export function usePlaces(): Places {
  const places = useContext(PlacesContext);
  if (places === null) throw new Error('no places around this component');
  return places;
}
