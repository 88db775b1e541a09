import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { basename } from 'node:path/posix';
import { FOR_EVER } from '../../http/responses/common-headers';
import { staticFile } from '../../http/responses/static-file';
import { Public, routeNotFound, SetRouteMetadata } from '../../http/request/routes';
import { OidcIssuer, type SignInAtIssuer } from './oidc-issuer';

const FOLDER = join(__dirname, 'assets');
const PAGE = 'index.html';

/** The placeholder in the page for settings of the service. */
const SETTINGS_PLACE = '<!-- settings -->';

/** The page as built: it refers to its files by names that contain their hashes. */
const CONSOLE_PAGE = readFileSync(join(FOLDER, PAGE), 'utf8');

/** The files of the page, under names that change with their content. */
const CONSOLE_FILES = readdirSync(FOLDER).filter((name) => name !== PAGE);

/**
 * Allows nothing from other origins, nothing inline and no framing; if people sign in at an issuer, requests to the
 * issuer are allowed.
 */
const CONTENT_POLICY: readonly string[] = [
  "default-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The console: one page for all its paths, which uses only the public interface. */
@ApiExcludeController()
@Public()
@SetRouteMetadata({ isServedWith: ({ consoleEnabled }) => consoleEnabled })
@Controller('console')
export class ConsoleController {
  constructor(private readonly issuer: OidcIssuer) {}

  @Get(CONSOLE_FILES.map((name) => `assets/${name}`))
  @SetRouteMetadata({ isUncounted: true })
  @Header('Cache-Control', FOR_EVER)
  file(@Req() request: Request): StreamableFile {
    return staticFile(join(FOLDER, basename(request.path)));
  }

  /** Public like the API document's assets, but counted. */
  @Get('assets/*name')
  nothing(): never {
    throw routeNotFound();
  }

  /** The page itself interprets path and query. */
  @Get(['', '*path'])
  @SetRouteMetadata({ isUncounted: true, readsInput: false })
  @Header('Cache-Control', 'no-cache')
  @Header('Content-Type', 'text/html; charset=utf-8')
  async page(@Res({ passthrough: true }) response: Response): Promise<string> {
    const signIn = await this.issuer.signIn();
    const origins = signIn === null ? [] : [originOf(signIn.issuer), originOf(signIn.tokenEndpoint)];
    const connections = origins.length === 0 ? [] : [`connect-src ${["'self'", ...new Set(origins)].join(' ')}`];
    response.setHeader('Content-Security-Policy', [...CONTENT_POLICY, ...connections].join('; '));
    return CONSOLE_PAGE.replace(SETTINGS_PLACE, () => this.settings(signIn));
  }

  private settings(signIn: SignInAtIssuer | null): string {
    if (signIn !== null) return metaTag('sign-in', JSON.stringify(signIn));
    return this.issuer.configured === null ? '' : metaTag('sign-in-unreachable', this.issuer.configured);
  }
}

/** Returns an element with a setting for the page; it is inert, because the content policy allows no inline script. */
function metaTag(name: string, content: string): string {
  const text = content.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<meta name="${name}" content="${text}" />`;
}

function originOf(url: string): string {
  return new URL(url).origin;
}
