import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import {
  type DemoCompany,
  type IssuedDemoKey,
  makeDemoCompany,
} from '../../../../clients/typescript/src/demo-company.js';
import demo from '../../../../examples/demo.json';
import { useSession } from '../../api/session.js';

/** The creation of the company checks the file. */
export const COMPANY = demo as unknown as DemoCompany;

/** The creation of the demo company. */
export interface Creation {
  /** Whether it has begun, and its outcome has not been dismissed. */
  readonly isBegun: boolean;
  /** The part that is being created; null if none is. */
  readonly part: string | null;
  readonly error: unknown;
  /** Null until it is complete. */
  readonly keys: readonly IssuedDemoKey[] | null;
  begin(this: void): Promise<void>;
  dismiss(this: void): void;
}

export const CreationContext = createContext<Creation | null>(null);

export function useCreationHere(): Creation {
  const creation = useContext(CreationContext);
  if (creation === null) throw new Error('Nothing is created here.');
  return creation;
}

/** Maintained for every screen: the keys are issued only once, and must not be lost with the screen that began it. */
export function useCreation(): Creation {
  const { connection } = useSession();
  const [isBegun, setBegun] = useState(false);
  const [part, setPart] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [keys, setKeys] = useState<readonly IssuedDemoKey[] | null>(null);
  const begin = async (): Promise<void> => {
    setBegun(true);
    setPart('Starting');
    setError(null);
    try {
      setKeys(await makeDemoCompany(connection, COMPANY, { onPart: setPart }));
    } catch (reason) {
      setError(reason);
    }
    setPart(null);
  };
  const dismiss = (): void => {
    setBegun(false);
    setKeys(null);
  };
  return { isBegun, part, error, keys, begin, dismiss };
}
