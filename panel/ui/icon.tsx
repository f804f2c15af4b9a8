import iconsUrl from '../icons.svg';

/** Relative to the page, so that the secret path before it stands nowhere in a page that is saved or sent. */
const ICONS = iconsUrl.split('/').slice(-2).join('/');

/** The drawings of `icons.svg`, which browsers fetch as a picture: lines on a grid of 24. */
export type IconName =
  | 'overview'
  | 'keys'
  | 'configuration'
  | 'rules'
  | 'dns'
  | 'audit'
  | 'tokens'
  | 'close'
  | 'copy'
  | 'check'
  | 'plus'
  | 'many'
  | 'search'
  | 'up'
  | 'down'
  | 'edit'
  | 'trash'
  | 'reset'
  | 'download'
  | 'upload'
  | 'sun'
  | 'moon'
  | 'auto'
  | 'exit'
  | 'grip'
  | 'warning'
  | 'gauge'
  | 'print'
  | 'more'
  | 'qr'
  | 'share'
  | 'braces'
  | 'table'
  | 'link'
  | 'help'
  | 'refresh';

/** Decorative, in the colour of the text: the words beside it, or the button's label, say what it means. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" aria-hidden="true" focusable="false">
      <use href={`${ICONS}#${name}`} />
    </svg>
  );
}
