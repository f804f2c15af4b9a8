import { placeName } from '../api/places.js';
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
  return (
    <select
      {...control}
      aria-label={control === undefined ? words('login.server') : undefined}
      title={current.root}
      value={current.root}
      disabled={disabled}
      onChange={(event) => {
        const place = all.find(({ root }) => root === event.currentTarget.value);
        if (place !== undefined) choose(place);
      }}
    >
      {all.map((place) => (
        <option key={place.root} value={place.root} title={place.root}>
          {place.own ? `${placeName(place)} (${words('login.thisServer')})` : placeName(place)}
        </option>
      ))}
    </select>
  );
}
