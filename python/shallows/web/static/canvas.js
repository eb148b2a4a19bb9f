// A canvas as a sheet to draw on, with one unit for each pixel of the page's own.

// Its empty sheet {pen, width, height}; null while the canvas has no size.
export function blank(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width) return null;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

// A text with a rim in the colour of the page, readable over lines.
export function label(pen, text, x, y, colours) {
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  pen.strokeStyle = colours.back;
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
}
