import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The page: everything it loads is served next to it, and it has no inline scripts, as the security headers require. */
const OWN = join(__dirname, 'page');
/** Swagger UI comes with @nestjs/swagger, which knows where it is. */
const PACKAGE = dirname(createRequire(require.resolve('@nestjs/swagger')).resolve('swagger-ui-dist/package.json'));

/** The page and what it loads, by path. Of the files of Swagger UI no others are served. */
export const UI_FILES: ReadonlyMap<string, string> = new Map([
  ['docs', join(OWN, 'index.html')],
  ['docs/start.js', join(OWN, 'start.js')],
  ['docs/start.css', join(OWN, 'start.css')],
  ['docs/swagger-ui.css', join(PACKAGE, 'swagger-ui.css')],
  ['docs/swagger-ui-bundle.js', join(PACKAGE, 'swagger-ui-bundle.js')],
  ['docs/favicon-16x16.png', join(PACKAGE, 'favicon-16x16.png')],
  ['docs/favicon-32x32.png', join(PACKAGE, 'favicon-32x32.png')],
]);
