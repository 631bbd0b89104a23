/** The listing with the real `yt`, with its YSON bindings and brotli. */
import { playListing } from "./real-yt-listing.ts";

playListing("full");
