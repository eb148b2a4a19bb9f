// What the page and an exported film have in common. Names stand for places: an import map gives them.
export { Player } from "shallows-player/player.js";
export { readChunk } from "shallows-player/film.js";
