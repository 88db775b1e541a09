/**
 * Verifies an export of the chain or a database without the service. It shares no code with it: everything here follows
 * docs/adr/0003-hash-format.md and docs/checkpoints.md, with nothing but Node.js (and its sqlite3 driver for a
 * database).
 */
import { verify } from './verify.mjs';

process.exitCode = await verify(process.argv.slice(2), process);
