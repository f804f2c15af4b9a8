import { placeName } from '../api/places.js';
import { useWords } from '../i18n/text.js';
import { usePlaces } from '../state/places.js';
import type { ControlProps } from './field.js';

interface ServerChoiceProps {
  /** What ties it to its label; without one it carries its name itself. */
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
      title={placeName(current.root)}
      value={current.root}
      disabled={disabled}
      onChange={(event) => {
        const place = all.find(({ root }) => root === event.currentTarget.value);
        if (place !== undefined) choose(place);
      }}
    >
      {all.map(({ root, own }) => (
        <option key={root} value={root}>
          {own ? `${placeName(root)} (${words('login.thisServer')})` : placeName(root)}
        </option>
      ))}
    </select>
  );
}
