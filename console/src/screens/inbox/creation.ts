import { useState } from 'preact/hooks';
import {
  type DemoCompany,
  type IssuedDemoKey,
  makeDemoCompany,
} from '../../../../clients/typescript/src/demo-company.js';
import demo from '../../../../examples/demo.json';
import { requiredContext } from '../../api/required-context.js';
import { useSession } from '../../api/session.js';
import { type IssuedKeys, useUnsavedKeys } from '../../ui/unsaved-keys.js';

/** The creation of the company checks the file. */
export const COMPANY = demo as unknown as DemoCompany;

const ADVICE = `These keys are shown only once. Open a second window and sign in with a person's key (such as ann's) to
  decide what waits for them. The bots' keys are for trying the API.`;

const ADVICE_IF_INCOMPLETE = `These keys were issued before the rest failed, and are shown only once. The inbox says what
  failed.`;

/** The creation of the demo company. */
export interface Creation {
  /** The part that is being created; null if none is. */
  readonly part: string | null;
  readonly error: unknown;
  begin(this: void): Promise<void>;
}

export const [CreationProvider, useCreationHere] = requiredContext<Creation>('Nothing is created here.');

/** Kept above all screens: the creation goes on when the screen that began it is left. */
export function useCreation(): Creation {
  const { connection } = useSession();
  const { receive } = useUnsavedKeys();
  const [part, setPart] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const begin = async (): Promise<void> => {
    setPart('Starting');
    setError(null);
    try {
      await receive(async () => {
        const demoKeys: IssuedDemoKey[] = [];
        try {
          await makeDemoCompany(connection, COMPANY, { onPart: setPart, onKey: (key) => void demoKeys.push(key) });
        } catch (reason) {
          // The keys are valid, whatever has failed since they were issued.
          if (demoKeys.length === 0) throw reason;
          setError(reason);
          return noticeOf(`${COMPANY.name} is incomplete.`, ADVICE_IF_INCOMPLETE, demoKeys);
        }
        return noticeOf(`${COMPANY.name} is ready.`, ADVICE, demoKeys);
      });
    } catch (reason) {
      setError(reason);
    }
    setPart(null);
  };
  return { part, error, begin };
}

function noticeOf(title: string, advice: string, demoKeys: readonly IssuedDemoKey[]): IssuedKeys {
  return { title, advice, keys: demoKeys.map(({ agent, secret }) => ({ name: agent, secret })) };
}
