/** The listing with the real `yt`, without YSON bindings and brotli: its structured answers travel as JSON. */
import { playListing } from "./real-yt-listing.ts";

playListing("plain");
