import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';

/** A form that a button shows and hides. */
export interface Disclosure {
  readonly isOpen: boolean;
  /** The properties of the button. */
  readonly button: {
    readonly ref: RefObject<HTMLButtonElement | null>;
    readonly 'aria-expanded': boolean;
    readonly onClick: () => void;
  };
  /** Hides the form, which may have the focus, and moves the focus back to the button. */
  close(this: void): void;
}

export function useDisclosure(isOpenAtFirst = false): Disclosure {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const ref = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    ref.current?.focus();
  };
  return { isOpen, button: { ref, 'aria-expanded': isOpen, onClick: () => setOpen(!isOpen) }, close };
}
