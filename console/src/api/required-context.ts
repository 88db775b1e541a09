import { createContext, type Provider } from 'preact';
import { useContext } from 'preact/hooks';

/** A context that has no value until one is provided above. Returns its provider, and the hook that reads it. */
export function requiredContext<Value>(missing: string): readonly [Provider<Value | null>, () => Value] {
  const context = createContext<Value | null>(null);
  const useValue = (): Value => {
    const value = useContext(context);
    if (value === null) throw new Error(missing);
    return value;
  };
  return [context.Provider, useValue];
}
