import { join } from 'node:path';
import { run } from '../processes/shell';

type Members = Readonly<Record<string, unknown>>;

export interface SignedTokens {
  /** The set of public keys. */
  readonly keys: readonly Members[];
  /** For each set of claims, one token per algorithm: RS256, PS256, ES256 and EdDSA. */
  readonly tokens: readonly Readonly<Record<string, string>>[];
}

/** Tokens with these claims, signed by another library in a separate process, since Jest cannot load it. */
export async function signedTokens(...claims: readonly Members[]): Promise<SignedTokens> {
  const program = join(__dirname, 'sign-tokens.mjs');
  const { output, errors } = await run(process.execPath, [
    program,
    ...claims.map((members) => JSON.stringify(members)),
  ]);
  expect(errors).toBe('');
  return JSON.parse(output) as SignedTokens;
}
