import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { useNames } from '../api/use-names.js';
import { useSession } from '../api/session.js';
import { showInvisible } from './format.js';
import { Options } from './options.js';

interface AgentFieldProps {
  readonly label: string;
  /** The name of the field in the form. */
  readonly name?: string;
  /** The meaning of an empty field. */
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly defaultValue?: string;
  readonly onChange?: (idOrName: string) => void;
  /** Called with each key that is pressed; `onChange` only when the field is left. */
  readonly onInput?: (text: string) => void;
}

/** A field for the name or id of any agent. It suggests the agents loaded so far; there may be many more. */
export function AgentField({ label, onChange, onInput, ...input }: AgentFieldProps): JSX.Element {
  const { names } = useSession();
  useNames();
  const list = useId();
  return (
    <label>
      {label}
      <input
        {...input}
        list={list}
        autocomplete="off"
        onChange={(event) => onChange?.(event.currentTarget.value.trim())}
        onInput={(event) => onInput?.(event.currentTarget.value.trim())}
      />
      <datalist id={list}>
        <Options choices={names.all().map(({ name }) => [name, showInvisible(name)])} />
      </datalist>
    </label>
  );
}
