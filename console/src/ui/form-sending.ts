import type { TargetedSubmitEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';

/** A form that is sent once for each time it is submitted. */
export interface FormSending {
  /** The error of the last attempt; null if it succeeded. */
  readonly error: unknown;
  readonly busy: boolean;
  readonly onSubmit: (event: TargetedSubmitEvent<HTMLFormElement>) => void;
  /** Submits the form once more, with its present content. */
  readonly again: () => void;
}

/** @param send sends the content of the form; if that fails, the form shows the error */
export function useFormSending(send: (form: FormData, element: HTMLFormElement) => Promise<void>): FormSending {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  /** Like `busy`, but changes at once: a second click may come before the button is disabled. */
  const isSending = useRef(false);
  const element = useRef<HTMLFormElement | null>(null);
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    setError(null);
    element.current = event.currentTarget;
    void send(new FormData(event.currentTarget), event.currentTarget)
      .catch(setError)
      .finally(() => {
        isSending.current = false;
        setBusy(false);
      });
  };
  return { error, busy, onSubmit, again: () => element.current?.requestSubmit() };
}

/** Returns the text of a field; empty if it has none. */
export function textOf(form: FormData, member: string): string {
  const value = form.get(member);
  return typeof value === 'string' ? value : '';
}
