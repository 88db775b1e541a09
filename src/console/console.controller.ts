import { type CanActivate, Controller, Get, Header, Injectable, Req, StreamableFile, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { basename } from 'node:path/posix';
import { Configuration } from '../config/configuration';
import { FOR_EVER } from '../http/answers/caching';
import { routeNotFound } from '../http/request/request-errors';
import { LeavesInputUnread, Public, Uncounted } from '../http/request/route-marks';
import { CONSOLE_FILES, CONSOLE_PAGE } from './console-files';

/** Nothing from elsewhere, nothing inline, and in nobody's frame. */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where the console is switched off, there is nothing at its paths. */
@Injectable()
class ConsoleEnabledGuard implements CanActivate {
  constructor(private readonly configuration: Configuration) {}

  canActivate(): boolean {
    if (!this.configuration.consoleEnabled) throw routeNotFound();
    return true;
  }
}

/** The console: one page for all its paths, which asks the public interface for everything it shows. */
@ApiExcludeController()
@Public()
@UseGuards(ConsoleEnabledGuard)
@Controller('console')
export class ConsoleController {
  @Get([...CONSOLE_FILES.keys()].map((name) => `assets/${name}`))
  @Uncounted()
  @Header('Cache-Control', FOR_EVER)
  file(@Req() request: Request): StreamableFile {
    const found = CONSOLE_FILES.get(basename(request.path));
    if (found === undefined) throw routeNotFound();
    return new StreamableFile(found.content, { type: found.type });
  }

  /** Public like what is there, but counted. */
  @Get('assets/*name')
  nothing(): never {
    throw routeNotFound();
  }

  /** The path and the query are for the page. */
  @Get(['', '*path'])
  @Uncounted()
  @LeavesInputUnread()
  @Header('Cache-Control', 'no-cache')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', POLICY)
  page(): string {
    return CONSOLE_PAGE;
  }
}
