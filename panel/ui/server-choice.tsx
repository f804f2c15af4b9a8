import { type Place, placeAddress, placeName } from '../api/places.js';
import { useWords } from '../i18n/text.js';
import { usePlaces } from '../state/workspace.js';
import type { ControlProps } from './field.js';

interface ServerChoiceProps {
  /** Ties it to its label; without one it carries its name itself. */
  readonly control?: ControlProps;
  readonly disabled?: boolean;
}

/** Points the page at another server. Each has its own session: coming back asks for nothing. */
export function ServerChoice({ control, disabled = false }: ServerChoiceProps) {
  const words = useWords();
  const { all, current, choose } = usePlaces();
  /** The name, with the path where two would be told apart by nothing else. */
  const label = (place: Place) => {
    const name = placeName(place);
    return all.filter((other) => placeName(other) === name).length > 1 ? placeAddress(place) : name;
  };
  return (
    <select
      {...control}
      aria-label={control === undefined ? words('login.server') : undefined}
      value={current.root}
      disabled={disabled}
      onChange={(event) => {
        const place = all.find(({ root }) => root === event.currentTarget.value);
        if (place !== undefined) choose(place);
      }}
    >
      {all.map((place) => (
        <option key={place.root} value={place.root}>
          {place.own ? `${label(place)} (${words('login.thisServer')})` : label(place)}
        </option>
      ))}
    </select>
  );
}
