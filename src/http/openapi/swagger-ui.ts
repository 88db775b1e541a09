import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Folder of the page. All assets are served next to it, and it has no inline scripts, as the security headers require.
 */
const OWN = join(__dirname, 'page');
/** Folder of Swagger UI, a dependency of @nestjs/swagger. */
const PACKAGE = dirname(createRequire(require.resolve('@nestjs/swagger')).resolve('swagger-ui-dist/package.json'));

/** Files of the page by path. Other files of Swagger UI are not served. */
export const UI_FILES: ReadonlyMap<string, string> = new Map([
  ['docs', join(OWN, 'index.html')],
  ['docs/start.js', join(OWN, 'start.js')],
  ['docs/start.css', join(OWN, 'start.css')],
  ['docs/swagger-ui.css', join(PACKAGE, 'swagger-ui.css')],
  ['docs/swagger-ui-bundle.js', join(PACKAGE, 'swagger-ui-bundle.js')],
  ['docs/favicon-16x16.png', join(PACKAGE, 'favicon-16x16.png')],
  ['docs/favicon-32x32.png', join(PACKAGE, 'favicon-32x32.png')],
]);
