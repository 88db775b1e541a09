import type { ComponentChildren, JSX } from 'preact';
import { go, HOME } from '../app/router.js';

interface LinkProps {
  /** The path below the console's. */
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly current?: boolean;
  readonly label?: string;
}

/** A link within the console; with a modifier key it behaves like any other link. */
export function Link({ to, children, current = false, label, ...rest }: LinkProps): JSX.Element {
  const onClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      {...rest}
      href={to === '' ? HOME : `${HOME}/${to}`}
      onClick={onClick}
      {...(current ? { 'aria-current': 'page' } : {})}
      {...(label === undefined ? {} : { 'aria-label': label })}
    >
      {children}
    </a>
  );
}
