import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureDriver } from './ensure-driver.mjs';
import { root } from './run.mjs';

/**
 * A backup is made next to a running service, whose compiled files must stay: they are built only if they are missing.
 */
if (existsSync(join(root, 'dist', 'program', 'backup', 'main.js'))) await ensureDriver();
else await ensureBuilt();
